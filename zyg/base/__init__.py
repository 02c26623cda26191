"""What a derivative is and what a value is made of; knows no tape.

config                          settings
borders                         tracebacks of what leaves zyg
tables                          tables for notebooks
references                      whether an object is nobody else's
buffers                         memory of results, kept for later results of the same size
signatures                      the types of public signatures
quiet                           NumPy's warnings off
collector                       Python's cyclic collector off
caches                          what was worked out, bounded and forgotten on demand
warned                          warnings of what is slow, with the user's line
threads                         work in chunks, on several threads
late                            what could not be raised where it was
extras                          what to install where a library is missing
marks                           what modules and functions say of themselves
words                           what the texts of functions say to the compiler
instead                         what others call what zyg has
adoptable                       which modules may be adopted, and which are
sinks                           calls of other libraries that only look at values
array_types                     kinds of arrays: NumPy's, a device's
registry                        which rule belongs to which function
scipys remedies                 what to write in place of the call that was refused; SciPy's
bags                            `Tangent`, the gradient of an object
kinds labelled                  what a kind of container is; those of other packages
containers opaque               kinds of containers; what passes through whole
structure                       values <-> their numbers and arrays
trees                           the same, of plain arguments, with fewer steps
"""
