"""What watched values answer, and what they refuse.

attributes                      methods and attributes of arrays, as functions
text                            text of one watched number
pickled                         watched values that are pickled, and on their way
partners                        what other differentiators ask
keywords                        keywords of ufuncs, in operations that have rules
conversions                     conversions to plain values: who gets one, and who does not
operators                       operators from a text
value                           what watched numbers and arrays have in common
numbers                         watched numbers
arrays                          watched arrays
duck                            watched arrays of other libraries
device                          those of a device
dropins                         functions that are the original ones where no gradient runs
"""
