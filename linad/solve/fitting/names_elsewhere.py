"""What SciPy, lmfit and statsmodels call what the results of fits and likelihoods have."""

ELSEWHERE = {
    **dict.fromkeys(("params", "best_values", "popt", "p", "beta"), "parameters are x, or values"),
    **dict.fromkeys(
        (
            *("stderr", "stderrs", "bse", "perr", "sd_beta", "std", "uncertainty", "uncertainties"),
            *("error", "err", "errs", "std_err", "std_errs", "std_error", "std_errors", "dx", "se"),
        ),
        "standard errors are errors, or standard_errors by name",
    ),
    **dict.fromkeys(("dof", "df", "df_resid", "nfree", "ndof"), "that is degrees_of_freedom"),
    **dict.fromkeys(("resid", "residual"), "residuals are (model - data) / sigma"),
    **dict.fromkeys(("cov", "covar", "cov_x", "pcov"), "the covariance matrix is covariance"),
    **dict.fromkeys(
        ("chisqr", "chi2", "chisq", "chi_sq", "chi_squared", "chi2_min"),
        "the sum of squares is chi_square",
    ),
    **dict.fromkeys(
        ("redchi", "redchi2", "red_chi2", "reduced_chi2"), "that is reduced_chi_square"
    ),
    **dict.fromkeys(("rsquared", "r2"), "that is r_squared"),
    **dict.fromkeys(("fit_report", "summary"), "report() is the text, print(found) shows it"),
    **dict.fromkeys(
        ("conf_interval", "conf_int", "ci", "intervals", "interval", "confidence_interval"),
        "confidence_intervals() and profile_intervals()",
    ),
    **dict.fromkeys(
        ("best_fit", "eval", "evaluate", "fitted", "fittedvalues", "model_values", "y"),
        "predict(xdata) is the model there",
    ),
    **dict.fromkeys(
        (
            *("prediction_interval", "prediction_intervals", "conf_band", "get_prediction"),
            *("eval_uncertainty", "predict_error", "predict_errors", "bands", "band"),
        ),
        "prediction_errors(x) are the standard errors of predict(x), confidence_band(x) and "
        "prediction_band(x) intervals around it; plot() draws the band",
    ),
    **dict.fromkeys(
        ("uvars", "correlated_values", "delta_method", "derived", "error_of"),
        "propagate(g) is a function of the parameters with its errors",
    ),
    **dict.fromkeys(
        ("plot_fit", "plot_residuals", "show", "draw"),
        "plot() draws data, model and residuals, and returns the axes",
    ),
    **dict.fromkeys(
        ("nobs", "n_obs", "ndata", "n_data", "npts"),
        "that is observations, how many data there are",
    ),
    **dict.fromkeys(
        ("sigma", "sigmas", "weights", "yerr"),
        "errors are those of parameters, prediction_errors(x) those of the model; what was given "
        "as sigma= is with you",
    ),
    **dict.fromkeys(
        ("nvarys", "nvar", "n_free", "nparams", "n_params"), "that is free_parameters"
    ),
    **dict.fromkeys(("corr", "correl", "correlations"), "that is correlation"),
    **dict.fromkeys(
        ("rss", "ssr", "sse", "sum_square"), "the sum of squares is chi_square, with sigma in it"
    ),
    **dict.fromkeys(
        ("rmse", "mse", "scale", "s_res", "sigma_res"),
        "residuals have the standard deviation np.sqrt(found.reduced_chi_square), in units of "
        "sigma; np.sqrt(found.chi_square / found.observations) is the root of their mean square",
    ),
    **dict.fromkeys(
        ("p_value", "pvalue", "pvalues", "chi2_p"),
        "where sigma is known, the probability of a worse fit is "
        "scipy.stats.chi2.sf(found.chi_square, found.degrees_of_freedom)",
    ),
    **dict.fromkeys(
        ("to_dict", "asdict", "valuesdict", "as_dict"),
        "values and standard_errors are dicts by name",
    ),
    **dict.fromkeys(
        ("to_frame", "to_dataframe", "to_pandas", "table"),
        "rows() are names, values and errors: pd.DataFrame(found.rows())",
    ),
    **dict.fromkeys(
        ("save", "dump", "to_json", "to_csv"),
        "pickle.dump(found, file) keeps all of it, if the model is a function of a module; "
        "json.dump({'values': found.values, 'errors': found.standard_errors}, file) the numbers",
    ),
    "fun": "residuals are (model - data) / sigma",
}
"""What is said of a name that a result does not have."""

OF_LIKELIHOODS = {
    **ELSEWHERE,
    **dict.fromkeys(
        (
            *("predict", "prediction_errors", "confidence_band", "eval", "evaluate", "best_fit"),
            *("eval_uncertainty", "fitted", "fittedvalues", "get_prediction", "band", "bands"),
            *("prediction_band", "prediction_interval", "prediction_intervals", "conf_band"),
            *("predict_error", "predict_errors", "model", "model_values", "y", "xdata", "data"),
            "labels",
        ),
        "a likelihood knows no model; propagate(lambda p: model(x, p)) has it, with errors",
    ),
    **dict.fromkeys(
        ("plot", "plot_fit", "plot_residuals", "show", "draw"),
        "a likelihood knows no model and no data to draw; draw model(x, found.x), with the errors "
        "of propagate(lambda p: model(x, p))",
    ),
    **dict.fromkeys(
        (
            *("residuals", "resid", "residual", "chi_square", "chisqr", "chi2", "r_squared"),
            *("redchi", "rss", "ssr", "sse", "sum_square", "rmse", "mse", "scale", "s_res"),
            *("sigma_res", "p_value", "pvalue", "pvalues", "chi2_p", "reduced_chi_square"),
            *("redchi2", "rsquared", "r2", "loss", "f_scale", "absolute_sigma", "chisq", "chi_sq"),
            *("chi_squared", "chi2_min", "red_chi2", "reduced_chi2", "sigma", "weights", "yerr"),
            "sigmas",
        ),
        "a likelihood has no residuals; log_likelihood and aic tell how good it is",
    ),
    **dict.fromkeys(
        (
            *("observations", "degrees_of_freedom", "dof", "df", "df_resid", "nfree", "ndof"),
            *("nobs", "n_obs", "ndata", "n_data", "npts"),
        ),
        "a likelihood does not know how many data there are; free_parameters is how many are free",
    ),
    "bic": "a likelihood does not know how many data there are; of n independent ones it is "
    "found.free_parameters * np.log(n) - 2 * found.log_likelihood",
    **dict.fromkeys(("llf", "loglike", "loglikelihood", "fun", "nll"), "that is log_likelihood"),
}
"""The same of what `maximum_likelihood` returns."""
