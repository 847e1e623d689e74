/**
 * Turns off onnxruntime's telemetry. Its builds for Linux report to their maker unless the variable
 * is set before they are loaded: over HTTPS, with a database in the home folder and a file that
 * stays in the temporary folder. A variable set by the user takes precedence.
 */
process.env["ORT_DISABLE_TELEMETRY"] ??= "1";
