/** Polls the server every second and shows its numbers, or why they are missing. */
import { LIVE_FORMAT, LIVE_PATH, type LiveDocument } from "../live.ts";
import { ApplicationView } from "./application-view.ts";
import { byId, element, setText } from "./dom.ts";
import { counted } from "./numbers.ts";

const PERIOD_MS = 1000;
/** Longest wait for a response. */
const TIMEOUT_MS = 5000;
const REFUSED = [401, 403];

const STATUS_TEXTS: Readonly<Record<LiveDocument["state"], string>> = {
  starting: "Not ready: workers are starting or were lost.",
  ready: "Ready. Updated every second.",
  draining: "Draining: the server finishes accepted requests and rejects new ones.",
};

const status = byId("status");
const sections = byId("applications");
const jump = byId("jump");
const pause = byId("pause");
const tokenForm = byId("token") as HTMLFormElement;
const tokenField = byId("token-field") as HTMLInputElement;

let views: readonly ApplicationView[] = [];
/** Names that the sections were built for, as text. */
let arranged = "";
let token = "";
let isPaused = false;
let receivedMs = Number.NaN;

pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  if (isPaused) showStatus("paused", "Paused.");
});
tokenForm.addEventListener("submit", (event) => {
  event.preventDefault();
  token = tokenField.value;
  tokenField.value = "";
});

void poll();

async function poll(): Promise<void> {
  if (!isPaused && !document.hidden) await refresh();
  setTimeout(() => void poll(), PERIOD_MS);
}

async function refresh(): Promise<void> {
  try {
    const reply = await fetch(LIVE_PATH, {
      cache: "no-store",
      credentials: "same-origin",
      headers: token === "" ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    tokenForm.hidden = !REFUSED.includes(reply.status);
    if (!tokenForm.hidden)
      showStatus("lost", "The server requires a token with access to its metrics.");
    else if (!reply.ok) showStatus("lost", `The server responded with status ${reply.status}.`);
    else show((await reply.json()) as LiveDocument);
  } catch {
    const since = Number.isNaN(receivedMs)
      ? ""
      : ` The numbers shown are ${counted((performance.now() - receivedMs) / 1000, "second")} old.`;
    showStatus("lost", `The server cannot be reached.${since}`);
  }
}

function show(live: LiveDocument): void {
  if (live.format !== LIVE_FORMAT) {
    showStatus("lost", "The server was updated: reload this page.");
    return;
  }
  receivedMs = performance.now();
  const wanted = JSON.stringify(
    live.applications.map(({ name, variants }) => [
      name,
      variants.map((one) => [one.task, one.name]),
    ]),
  );
  if (wanted !== arranged) arrange(live);
  arranged = wanted;
  for (const [place, application] of live.applications.entries()) {
    views[place]?.update(application, live.atMs);
  }
  const more = live.applicationsLeftOut;
  const left = more > 0 ? ` ${counted(more, "application")} not shown.` : "";
  showStatus(live.state, STATUS_TEXTS[live.state] + left);
}

/** Creates a section for each application. */
function arrange({ applications, version }: LiveDocument): void {
  views = applications.map((one, place) => new ApplicationView(one, `application-${place}`));
  sections.replaceChildren(...views.map(({ root }) => root));
  jump.hidden = applications.length < 2;
  jump.replaceChildren(
    ...applications.map(({ name }, place) => element("a", { href: `#application-${place}` }, name)),
  );
  const title = applications.map(({ name }) => name).join(", ");
  document.title = `${title} · Stratagem`;
  setText(byId("version"), `Stratagem ${version}`);
}

function showStatus(state: string, text: string): void {
  status.className = `status ${state}`;
  setText(status, text);
}
