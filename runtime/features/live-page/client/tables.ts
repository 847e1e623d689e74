/** Tables with the numbers of the figures. */
import type { LiveApplication } from "../live.ts";
import { element, setText } from "./dom.ts";
import { type Measures, measuresOf, quantileText } from "./measures.ts";
import { countText, decimalText, msText, ratioText, UNKNOWN } from "./numbers.ts";

/** Table whose rows are updated in place. */
class Table {
  readonly root: HTMLElement;
  readonly #body: HTMLTableSectionElement;

  constructor(caption: string, heads: readonly string[]) {
    this.#body = element("tbody");
    const cells = heads.map((head) => element("th", { scope: "col" }, head));
    this.root = element(
      "div",
      { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
      element(
        "table",
        {},
        element("caption", {}, caption),
        element("thead", {}, element("tr", {}, ...cells)),
        this.#body,
      ),
    );
  }

  rows(rows: readonly (readonly string[])[]): void {
    while (this.#body.rows.length > rows.length) this.#body.deleteRow(-1);
    for (const [place, texts] of rows.entries()) {
      const row = this.#body.rows[place] ?? this.#body.insertRow();
      for (const [column, text] of texts.entries()) {
        const cell = row.cells[column] ?? row.appendChild(cellOf(column));
        setText(cell, text);
      }
    }
  }
}

function cellOf(column: number): HTMLTableCellElement {
  return column === 0 ? element("th", { scope: "row" }) : element("td");
}

interface Spans {
  /** Measures over ten seconds and over five minutes. */
  readonly now: Measures;
  readonly lately: Measures;
}

export function numberTable(): { root: HTMLElement; update: TableUpdate } {
  const heads = ["", "10 s", "5 min", "since the start", "promised"];
  const table = new Table("Measured and promised", heads);
  return {
    root: table.root,
    update: (application, { now, lately }) => {
      const all = measuresOf(application);
      const row = (
        name: string,
        of: (measures: Measures) => number | null,
        textOf: (value: number | null) => string,
        promised = "",
      ) => [name, ...[now, lately, all].map((one) => textOf(of(one))), promised];
      const { slo, latency, promised } = application;
      const latencyText = (ms: number | null) => quantileText(ms, latency);
      const { accuracy, violationRate } = promised;
      const violations = violationRate === null ? UNKNOWN : `≤ ${ratioText(violationRate)}`;
      table.rows([
        row("Rows answered or dropped", ({ rows }) => rows, countText),
        row("Accuracy", (one) => one.accuracy, ratioText, ratioText(accuracy)),
        row("Late or dropped", (one) => one.violationRate, ratioText, violations),
        row("Mean latency", ({ meanMs }) => meanMs, msText),
        row("Latency, median", ({ p50Ms }) => p50Ms, latencyText),
        row(
          "Latency, 99th percentile",
          ({ p99Ms }) => p99Ms,
          latencyText,
          `SLO ${msText(slo.latencyMs)}`,
        ),
        row("Slack, median", ({ slackP50Ms }) => slackP50Ms, msText),
      ]);
    },
  };
}

type TableUpdate = (application: LiveApplication, spans: Spans) => void;

export function variantTable(): { root: HTMLElement; update: TableUpdate } {
  const heads = ["Variant", "stated accuracy", "share, 10 s", "5 min", "rows", "rows per batch"];
  const table = new Table("Variants", [...heads, "workers"]);
  return {
    root: table.root,
    update: ({ variants, variantsLeftOut }, { now, lately }) => {
      const isOnly = variants.every(({ task }) => task === variants[0]?.task);
      const rows = variants.map((variant, index) => {
        const { task, name, accuracy, assigned, ready, startPlaces, starts } = variant;
        const batches = now.batchesByVariant[index] ?? 0;
        const batch = batches > 0 ? (now.rowsByVariant[index] ?? 0) / batches : null;
        const workers =
          assigned !== null && assigned > 0
            ? `${ready ?? 0} of ${assigned}`
            : starts !== null && starts > 0
              ? `${decimalText((startPlaces ?? 0) / starts)} per query`
              : UNKNOWN;
        return [
          isOnly || task === name ? name : `${task}: ${name}`,
          ratioText(accuracy),
          ratioText(now.shares[index] ?? null),
          ratioText(lately.shares[index] ?? null),
          countText(variant.rows),
          decimalText(batch),
          workers,
        ];
      });
      const more = variantsLeftOut > 0 ? [[`and ${variantsLeftOut} more`]] : [];
      table.rows([...rows, ...more]);
    },
  };
}

export function levelTable(): { root: HTMLElement; update: (one: LiveApplication) => void } {
  const heads = ["Level", "load, 1/s", "accuracy", "late or dropped", "99th percentile", ""];
  const table = new Table("Levels and promises of the bundle", heads);
  return {
    root: element("details", {}, element("summary", {}, "All levels"), table.root),
    update: ({ levels, level }) => {
      table.rows(
        levels.map((one) => [
          String(one.index + 1),
          `${decimalText(one.loadQps)}${one.pace === 1 ? "" : ` at pace ${decimalText(one.pace)}`}`,
          ratioText(one.accuracy),
          one.violationRate === null ? UNKNOWN : `≤ ${ratioText(one.violationRate)}`,
          msText(one.p99Ms),
          one.index === level ? "decides now" : one.feasible ? "" : "not feasible",
        ]),
      );
    },
  };
}

export function classTable(): { root: HTMLElement; update: (one: LiveApplication) => void } {
  const heads = ["Class", "SLO", "rows", "accuracy", "promised", "late or dropped", "promised"];
  const table = new Table("Classes, since the start", heads);
  return {
    root: table.root,
    update: ({ classes }) => {
      table.root.hidden = classes.length === 0;
      table.rows(
        classes.map((one) => {
          const violations = one.late + one.dropped;
          const rows = one.satisfied + violations;
          const { satisfied, satisfiedAccuracy } = one;
          return [
            one.name,
            msText(one.latencyMs),
            countText(rows),
            ratioText(satisfied > 0 ? satisfiedAccuracy / satisfied : null),
            ratioText(one.promisedAccuracy),
            ratioText(rows > 0 ? violations / rows : null),
            `≤ ${ratioText(one.promisedViolationRate)}`,
          ];
        }),
      );
    },
  };
}
