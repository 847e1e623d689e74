/**
 * Keeps onnxruntime from telling its maker what this process does. Its builds for Linux do unless
 * the variable is set before they are loaded: over HTTPS, with a database in the home, and a file
 * in the folder for temporary ones that stays behind. Who sets the variable decides.
 */
process.env["ORT_DISABLE_TELEMETRY"] ??= "1";
