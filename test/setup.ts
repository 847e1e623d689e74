/** What all tests have: the same random cases, and every method open, as after reading bundles. */
import fc from "fast-check";
// Tests make bundles in memory; what programs open is shown by test/cli/loaded-modules.test.ts.
import "../runtime/methods/every-method.ts";

/**
 * Random tests draw the same cases in every run; a case worth keeping becomes a test of its own.
 */
fc.configureGlobal({ seed: 20261121 });
