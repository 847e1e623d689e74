/** Section of one application. */
import type { LiveApplication } from "../live.ts";
import { element, setText } from "./dom.ts";
import { History, KEPT_MS } from "./history.ts";
import {
  accuracyFigure,
  type Drawn,
  latencyFigure,
  loadFigure,
  queueFigure,
  slackFigure,
  violationFigure,
} from "./load-figures.ts";
import { measuresOf } from "./measures.ts";
import { counted, msText } from "./numbers.ts";
import { promiseList } from "./promise-list.ts";
import { shareFigure } from "./share-figure.ts";
import { classTable, levelTable, numberTable, variantTable } from "./tables.ts";
import { Tiles } from "./tiles.ts";
import { NOW_MS, Trends } from "./trends.ts";
import { verdictsOf } from "./verdict.ts";
import { workerFigure } from "./worker-figure.ts";

/** Limit of the tasks with a figure of variants; the table has all. */
const MAX_SHARE_FIGURES = 6;

export class ApplicationView {
  readonly root: HTMLElement;
  readonly #about = element("p", { class: "kicker" });
  readonly #tiles = new Tiles();
  readonly #figures: readonly Drawn[];
  readonly #promises = promiseList();
  readonly #numbers = numberTable();
  readonly #variants = variantTable();
  readonly #classes = classTable();
  readonly #levels = levelTable();
  readonly #history = new History();
  readonly #trends = new Trends();

  /** @param application first state. @param id of the section. */
  constructor(application: LiveApplication, id: string) {
    const heading = element("h2", { id: `${id}-name` }, application.name);
    this.#figures = [
      loadFigure(),
      ...shareFigures(application),
      ...(promisesAccuracy(application) ? [accuracyFigure()] : []),
      violationFigure(),
      latencyFigure(),
      queueFigure(),
      slackFigure(),
      workerFigure(),
    ];
    this.root = element(
      "section",
      { id, "aria-labelledby": `${id}-name` },
      heading,
      this.#about,
      this.#tiles.root,
      this.#promises.root,
      element("div", { class: "figures" }, ...this.#figures.map(({ figure }) => figure.root)),
      element(
        "div",
        { class: "tables" },
        this.#numbers.root,
        this.#classes.root,
        this.#variants.root,
        this.#levels.root,
      ),
    );
  }

  update(application: LiveApplication, atMs: number): void {
    this.#history.add({ atMs, application });
    const moments = this.#trends.update(this.#history);
    const last = this.#history.snapshots.length - 1;
    const now = measuresOf(application, this.#history.before(last, NOW_MS)?.application);
    const lately = measuresOf(application, this.#history.before(last, KEPT_MS)?.application);
    const { method, slo, bundleSha256, isReady } = application;
    const ready = isReady ? "ready" : "not ready";
    const bundle = `bundle ${bundleSha256.slice(0, 12)}`;
    const broken = application.promises.filter(({ holds }) => !holds).length;
    const all = counted(application.promises.length, "promise");
    const verdict = broken === 0 ? "" : ` · ${broken} of ${all} broken`;
    const slos = `SLO ${msText(slo.latencyMs)}`;
    setText(this.#about, `${method} · ${slos} · ${bundle} · ${ready}${verdict}`);
    this.#tiles.update(application, now, verdictsOf(this.#history.snapshots, application.promises));
    for (const one of this.#figures) one.update(application, moments);
    this.#promises.update(application);
    this.#numbers.update(application, { now, lately });
    this.#variants.update(application, { now, lately });
    this.#classes.update(application);
    this.#levels.update(application);
  }
}

function shareFigures({ variants }: LiveApplication): Drawn[] {
  const tasks = [...new Set(variants.map(({ task }) => task))];
  const chosen = tasks.filter((task) => variants.filter((one) => one.task === task).length > 1);
  const isOnly = tasks.length === 1;
  return chosen.slice(0, MAX_SHARE_FIGURES).map((task) => shareFigure(task, isOnly));
}

function promisesAccuracy({ levels }: LiveApplication): boolean {
  return levels.some(({ accuracy }) => accuracy !== null);
}
