/** Starts many things, a few of them at a time. */

/**
 * Kept once all are done. @param count how many there are. @param most of them at a time.
 * @param begin told which it is, from 0.
 * @throws what the first that fails throws; those that were not begun by then are not.
 */
export async function aFewAtATime(
  count: number,
  most: number,
  begin: (index: number) => Promise<void>,
): Promise<void> {
  let left = count;
  const row = async (): Promise<void> => {
    while (left > 0) {
      const index = count - left;
      left--;
      try {
        await begin(index);
      } catch (error) {
        left = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, most) }, row));
}
