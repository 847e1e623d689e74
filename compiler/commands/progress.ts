/** A one-line progress bar for terminals. */

const BAR_WIDTH = 30;
const MIN_REDRAW_MS = 50;

export interface Progress {
  /** @param stage what the work is at, where there are several stages. */
  update(done: number, total: number, stage?: string): void;
  /** Removes the bar. */
  end(): void;
}

/**
 * A bar on `stream` if it is a terminal, and nothing at all otherwise. @param nowMs a monotonic
 * clock.
 */
export function startProgress(
  stream: NodeJS.WriteStream,
  label: string,
  nowMs: () => number,
): Progress {
  if (!stream.isTTY) return { update() {}, end() {} };
  const startMs = nowMs();
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    update(done, total, stage) {
      if (done < total && nowMs() - drawnMs < MIN_REDRAW_MS) return;
      drawnMs = nowMs();
      const title = stage === undefined ? label : `${label}, ${stage}`;
      stream.write(`\r\x1b[K${renderBar(title, done, total, drawnMs - startMs)}`);
    },
    end() {
      stream.write("\r\x1b[K");
    },
  };
}

/** `label ████░░░░ 3/12, 4 s left`. @param elapsedMs since the first unit of work began. */
export function renderBar(label: string, done: number, total: number, elapsedMs: number): string {
  const filled = Math.round((BAR_WIDTH * done) / total);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  const leftSeconds = Math.ceil(((elapsedMs / Math.max(1, done)) * (total - done)) / 1000);
  const left = done > 0 && done < total ? `, ${leftSeconds} s left` : "";
  return `${label} ${bar} ${done}/${total}${left}`;
}
