"""What LLVM text says besides: which branches are rare, which accesses may meet, how loops run."""

from __future__ import annotations

RARELY = "!prof !0"
TAGS = {"double": "!2", "float": "!3", "i64": "!4", "i8": "!5", "ptr": "!6"}
ONE_BY_ONE = ", !llvm.loop !7"  # a loop that is not to run in vectors
FIRST_SCOPE = 30  # the number of the first line of those that a module adds
TO_THE_END = ", !llvm.loop !9"  # one whose last rounds run in vectors, too: inner ones are short
IN_LANES = ", !llvm.loop !25"  # one of eight rounds, each a lane of a register
METADATA = [
    '!0 = !{!"branch_weights", i32 2000, i32 1}',
    '!1 = !{!"zyg"}',
    "!7 = distinct !{!7, !8}",
    '!8 = !{!"llvm.loop.vectorize.enable", i1 false}',
    "!9 = distinct !{!9, !10}",
    "!25 = distinct !{!25, !26}",
    '!26 = !{!"llvm.loop.unroll.disable"}',
    '!10 = !{!"llvm.loop.vectorize.predicate.enable", i1 true}',
    *(f"{tag} = !{{!1{tag[1:]}, !1{tag[1:]}, i64 0}}" for tag in TAGS.values()),
    *(f'!1{tag[1:]} = !{{!"{kind}", !1}}' for kind, tag in TAGS.items()),
]
