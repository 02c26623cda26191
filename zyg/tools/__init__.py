"""Tools that know everything, and that nothing knows.

elsewhere                       names that other libraries have, and what to write here
samples                         values of all kinds for checks
testing                         `check_adjoint`, `check_gradient`
timeline                        pictures of concurrent programs
explain                         what each line keeps, and where a dependence ended
ledger                          what becomes of each function of NumPy
"""
