"""Files of MyoAssist: checkouts and training scripts read, scripts and files of cma written."""
