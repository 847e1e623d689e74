/** Caches frames by stretch, so that what solvers cache per frame is kept. */

/**
 * Makes each frame once.
 * @param make a frame whose times are `stretch` times as long.
 */
export function framesByStretch<F extends object>(
  make: (frame: F, stretch: number) => F,
): (frame: F, stretch: number) => F {
  const known = new WeakMap<F, Map<number, F>>();
  return (frame, stretch) => {
    const made = known.get(frame) ?? new Map<number, F>();
    known.set(frame, made);
    const found = made.get(stretch) ?? make(frame, stretch);
    made.set(stretch, found);
    return found;
  };
}
