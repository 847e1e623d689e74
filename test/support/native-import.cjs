/** Imports a file as Node does, past the transforms of the test runner. */
module.exports = (url) => import(url);
