/** Memory of a server of letters: of the device, and of each process on the machine. */
import { withServer } from "../../experiments/harness/live.ts";
import { nvidiaSmi } from "../driver.ts";
import { askLetters } from "../letters-client.ts";
import type { Section, Teller } from "../section.ts";
import { compiled, serveOn } from "../served.ts";
import type { Settings } from "../settings.ts";
import { residentMib, workersOf } from "../worker-processes.ts";

const REQUESTS = 500;
const QUICK_REQUESTS = 20;

export const memory: Section = {
  name: "memory",
  title: "Memory of a server of letters, MiB",
  limitSeconds: 60,
  isOfValues: false,
  run: tellMemory,
};

async function tellMemory(settings: Settings, tell: Teller): Promise<void> {
  const { bundle } = await compiled("letters", settings);
  tell.columns("when", "device", "server", "worker 1", "worker 2");
  tell.row(["before", deviceMib(), "-", "-", "-"]);
  await withServer(serveOn("letters", bundle, settings), async ({ url, pid }) => {
    const tellNow = (when: string) => {
      const [first, second] = workersOf(pid).map((worker) => worker.residentMib);
      tell.row([when, deviceMib(), residentMib(pid), first ?? "-", second ?? "-"]);
    };
    tellNow("ready");
    const requests = settings.isQuick ? QUICK_REQUESTS : REQUESTS;
    for (let request = 0; request < requests; request++) await askLetters(url);
    tellNow(`after ${requests} requests`);
  });
  tell.row(["stopped", deviceMib(), "-", "-", "-"]);
  tell.note("one worker and one that stands by, each with all models; on the machine: resident");
}

/** Of all that use the device; `-` where nobody tells. */
function deviceMib(): string {
  return nvidiaSmi("memory.used")[0] ?? "-";
}
