"""Functions of scipy.special that kernels may call, by their number of arguments.

Whether a back end has a function is for its target to say.
"""

ARGUMENTS = {
    1: """
    bei beip ber berp cosdg cosm1 cotdg dawsn ellipe ellipk ellipkm1 erfcinv erfcx erfi erfinv
    exp1 exp10 expi exprel gamma gammaln gammasgn i0 i0e i1 i1e it2struve0 itmodstruve0
    itstruve0 j0 j1 k0 k0e k1 k1e kei keip ker kerp kolmogi kolmogorov log_ndtr loggamma ndtr
    ndtri ndtri_exp psi rgamma sindg spence tandg wrightomega y0 y1
    """,
    2: """
    agm beta betaln binom boxcox boxcox1p chdtr chdtrc chdtri ellipeinc ellipkinc elliprc
    gammainc gammaincc gammainccinv gammaincinv huber inv_boxcox inv_boxcox1p iv ive jv
    jve kl_div kv kve modstruve owens_t pdtr pdtrc poch powm1 pseudo_huber rel_entr stdtr
    stdtrit struve tklmbda yv yve
    """,
    3: """
    betainc betaincc betainccinv betaincinv chndtr chndtrix elliprd elliprf elliprg fdtr fdtrc
    fdtri gdtr gdtrc gdtria gdtrix hyp1f1 hyperu log_wright_bessel lpmv nrdtrimn nrdtrisd radian
    voigt_profile wright_bessel
    """,
    4: "elliprj hyp2f1",
}
"""Names of primitives, by their number of arguments."""

ARITY = {name: count for count, names in ARGUMENTS.items() for name in names.split()}
