/** Frames of one stretch each, so that what solvers keep for a frame is kept. */

/** Makes each frame once. @param make of a frame, and how many times as long its times are. */
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
