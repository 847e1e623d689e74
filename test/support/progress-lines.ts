/** Lines of progress, which come with the time that work takes and are no part of what it says. */

/** What `profile` wrote to stderr beside its progress: on a slow machine there is some to tell. */
export function withoutProgress(stderr: string): string {
  return stderr.replace(/^measuring.*\n/gm, "");
}
