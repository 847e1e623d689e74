/** Progress of long work: a bar on terminals, periodic lines elsewhere. */

const BAR_WIDTH = 30;
const MIN_REDRAW_MS = 50;
/** Interval between lines without a terminal. */
const LINE_INTERVAL_MS = 5000;

interface Progress {
  /** @param stage name of the current stage, if there are several. */
  update(done: number, total: number, stage?: string): void;
  /** Prints a line during the work. */
  note(line: string): void;
  /** Removes the bar. */
  end(): void;
}

interface ProgressClock {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Calls back periodically until the returned function is called. */
  readonly every: (intervalMs: number, callback: () => void) => () => void;
}

/** Output for progress; `isTTY` if the cursor can return in its line. */
type ProgressStream = Pick<NodeJS.WriteStream, "write"> & { readonly isTTY?: boolean };

/**
 * Starts a bar on a terminal `stream`; otherwise prints a line every 5 s, so none for shorter work.
 */
export function startProgress(
  stream: ProgressStream,
  label: string,
  clock: ProgressClock,
): Progress {
  return stream.isTTY === true ? startBar(stream, label, clock) : startLines(stream, label, clock);
}

function startBar(stream: ProgressStream, label: string, { nowMs }: ProgressClock): Progress {
  const startMs = nowMs();
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    update(done, total, stage) {
      if (done < total && nowMs() - drawnMs < MIN_REDRAW_MS) return;
      drawnMs = nowMs();
      stream.write(`\r\x1b[K${renderBar(titleOf(label, stage), done, total, drawnMs - startMs)}`);
    },
    note(line) {
      stream.write(`\r\x1b[K${line}\n`);
    },
    end() {
      stream.write("\r\x1b[K");
    },
  };
}

/** Lines follow the clock, since a unit of work may take longer than the interval. */
function startLines(
  stream: ProgressStream,
  label: string,
  { nowMs, every }: ProgressClock,
): Progress {
  const startMs = nowMs();
  let title = label;
  let [done, total] = [0, 0];
  const stop = every(LINE_INTERVAL_MS, () => {
    const elapsedMs = nowMs() - startMs;
    const soFar = total === 0 ? "" : ` ${done}/${total}`;
    const left = timeLeft(done, total, elapsedMs);
    stream.write(`${title}${soFar}, ${Math.round(elapsedMs / 1000)} s so far${left}\n`);
  });
  return {
    update(nowDone, nowTotal, stage) {
      [done, total] = [nowDone, nowTotal];
      title = titleOf(label, stage);
    },
    note(line) {
      stream.write(`${line}\n`);
    },
    end: stop,
  };
}

function titleOf(label: string, stage: string | undefined): string {
  return stage === undefined ? label : `${label}, ${stage}`;
}

/** Formats `label ████░░░░ 3/12, 4 s left`. @param elapsedMs since the first unit of work began. */
function renderBar(label: string, done: number, total: number, elapsedMs: number): string {
  const filled = Math.round((BAR_WIDTH * done) / total);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${label} ${bar} ${done}/${total}${timeLeft(done, total, elapsedMs)}`;
}

function timeLeft(done: number, total: number, elapsedMs: number): string {
  if (done <= 0 || done >= total) return "";
  return `, ${Math.ceil(((elapsedMs / done) * (total - done)) / 1000)} s left`;
}
