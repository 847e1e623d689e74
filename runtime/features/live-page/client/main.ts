/** Asks for the numbers every second, and says where there are none. */
import { LIVE_FORMAT, LIVE_PATH, type LiveDocument } from "../live.ts";
import { ApplicationView } from "./application-view.ts";
import { byId, element, setText } from "./dom.ts";
import { counted } from "./numbers.ts";

const PERIOD_MS = 1000;
/** An answer that takes longer is none. */
const PATIENCE_MS = 5000;
const REFUSED = [401, 403];

const SAID: Readonly<Record<LiveDocument["state"], string>> = {
  starting: "Not ready: workers are starting, or were lost.",
  ready: "Ready. Updated every second.",
  draining: "Draining: the server answers what it has accepted, and takes no more.",
};

const status = byId("status");
const sections = byId("applications");
const jump = byId("jump");
const pause = byId("pause");
const tokenForm = byId("token") as HTMLFormElement;
const tokenField = byId("token-field") as HTMLInputElement;

let views: readonly ApplicationView[] = [];
/** What the sections are for, as text. */
let arranged = "";
let token = "";
let isPaused = false;
let heardMs = Number.NaN;

pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  if (isPaused) say("paused", "Paused.");
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
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    tokenForm.hidden = !REFUSED.includes(reply.status);
    if (!tokenForm.hidden) say("lost", "The server wants a token that may read its metrics.");
    else if (!reply.ok) say("lost", `The server answers ${reply.status} in place of its numbers.`);
    else show((await reply.json()) as LiveDocument);
  } catch {
    const since = Number.isNaN(heardMs)
      ? ""
      : ` What is shown is ${counted((performance.now() - heardMs) / 1000, "second")} old.`;
    say("lost", `The server cannot be reached.${since}`);
  }
}

function show(live: LiveDocument): void {
  if (live.format !== LIVE_FORMAT) {
    say("lost", "The server is another now: load this page again.");
    return;
  }
  heardMs = performance.now();
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
  const left = more > 0 ? ` ${counted(more, "application")} more are not shown.` : "";
  say(live.state, SAID[live.state] + left);
}

/** Sections for the applications there are. */
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

function say(state: string, text: string): void {
  status.className = `status ${state}`;
  setText(status, text);
}
