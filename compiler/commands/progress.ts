/** Progress of long work: a bar on terminals, a line now and then elsewhere. */

const BAR_WIDTH = 30;
const MIN_REDRAW_MS = 50;
/** Between two lines where there is no terminal. */
const LINE_INTERVAL_MS = 5000;

interface Progress {
  /** @param stage what the work is at, where there are several stages. */
  update(done: number, total: number, stage?: string): void;
  /** Leaves a line that is to be read while the work goes on. */
  note(line: string): void;
  /** Removes the bar. */
  end(): void;
}

/** What tells the time, and calls back as it goes by. */
interface ProgressClock {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Calls back every so often until what it gives is called. */
  readonly every: (intervalMs: number, callback: () => void) => () => void;
}

/** Where progress is written: `isTTY` for what can go back in its line. */
type ProgressStream = Pick<NodeJS.WriteStream, "write"> & { readonly isTTY?: boolean };

/** A bar on `stream` if it is a terminal; otherwise a line each 5 s, and none of shorter work. */
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

/** A unit of work may take longer than the interval, so lines come by the clock. */
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

/** `label ████░░░░ 3/12, 4 s left`. @param elapsedMs since the first unit of work began. */
function renderBar(label: string, done: number, total: number, elapsedMs: number): string {
  const filled = Math.round((BAR_WIDTH * done) / total);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${label} ${bar} ${done}/${total}${timeLeft(done, total, elapsedMs)}`;
}

function timeLeft(done: number, total: number, elapsedMs: number): string {
  if (done <= 0 || done >= total) return "";
  return `, ${Math.ceil(((elapsedMs / done) * (total - done)) / 1000)} s left`;
}
