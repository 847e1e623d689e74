/**
 * Renders the HTML document around the sections: styles for light and dark, phone and print. It
 * makes no network requests.
 */
import { html, Markup } from "./markup.ts";
import { paletteStyle } from "./palette.ts";

export interface PageSection {
  readonly id: string;
  readonly heading: string;
  readonly body: Markup;
}

interface PageContent {
  readonly title: string;
  readonly subtitle: string;
  readonly lead: string;
  readonly facts: Markup;
  readonly sections: readonly PageSection[];
  readonly footer: string;
  readonly variantCount: number;
  /** Styles in addition to those of every page. */
  readonly style?: string;
}

export function renderPage(content: PageContent): string {
  const { title, subtitle, lead, facts, sections, footer, variantCount, style = "" } = content;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Markup(styleSheet(variantCount) + style)}</style>
</head>
<body>
<header><p class="kicker">${subtitle}</p><h1>${title}</h1><p class="lead">${lead}</p>${
    facts
  }</header>
<main>
${sections.map(
  ({ id, heading, body }) => html`<section id="${id}"><h2>${heading}</h2>${body}</section>\n`,
)}</main>
<footer><p>${footer}</p></footer>
</body>
</html>
`;
  return page.text;
}

function styleSheet(variantCount: number): string {
  const light = `--page:#fff;--ink:#1b1f24;--soft:#5a6470;--line:#d5dae0;--panel:#f4f6f8;
--accent:#c2185b;--limit:#b3261e;--wait:#e3e6ea;${paletteStyle(variantCount, 0)}`;
  const dark = `--page:#14171b;--ink:#e8ebef;--soft:#a3adb8;--line:#3a424b;--panel:#1e2328;
--accent:#ff7aa8;--limit:#ff8a80;--wait:#343a41;${paletteStyle(variantCount, 1)}`;
  return `:root{${light}}
@media screen and (prefers-color-scheme:dark){:root{${dark}}}
${RULES}`;
}

const RULES = `*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:24px 20px 48px;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;
overflow-wrap:anywhere}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:.5rem 0}
p{margin:.5rem 0;max-width:72ch}
.kicker,.note,figcaption,footer{color:var(--soft);font-size:.875rem}
.kicker{margin:0}
.lead{font-size:1.08rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:10px 28px;
margin:1.2rem 0;padding:14px 16px;background:var(--panel);border-radius:8px;font-size:.9rem}
dt{color:var(--soft);font-size:.8rem}
dd{margin:0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));
gap:20px 36px;align-items:start}
figure{margin:0 0 8px;max-width:540px;min-width:0}
.figures>div{min-width:0}
figure h3{margin:.6rem 0 .2rem}
figcaption{margin-top:4px}
svg.figure{display:block;width:100%;height:auto;font-family:inherit;overflow:visible}
svg.figure text{white-space:pre}
svg .letter{fill:#fff;stroke:#000a;stroke-width:2.5px;paint-order:stroke;font-weight:700;
text-anchor:middle;pointer-events:none}
svg .cells path{shape-rendering:crispEdges}
svg .cells path:hover{stroke:var(--ink);stroke-width:1.5}
.key{display:flex;flex-wrap:wrap;gap:2px 16px;padding:0;margin:4px 0;list-style:none;
font-size:.85rem;color:var(--soft)}
.key svg{width:26px;height:10px;vertical-align:middle;margin-right:5px;color:var(--ink)}
.sign{display:inline-block;width:26px;margin-right:5px;text-align:center;color:var(--accent)}
.chip{display:inline-block;min-width:1.35em;height:1.35em;line-height:1.35em;padding:0 .2em;
border-radius:3px;text-align:center;font-weight:700;font-size:.8em;color:#fff;
text-shadow:0 0 2px #000,0 0 2px #000}
.wait{background:var(--wait)}
.give-up{background:var(--line)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{padding:4px 12px 4px 0;text-align:right;vertical-align:bottom;
border-bottom:1px solid var(--line);overflow-wrap:normal}
th{color:var(--soft);font-weight:600;font-size:.8rem}
th:first-child,td:first-child{text-align:left;white-space:nowrap}
#level-table th:first-child,#level-table td:first-child{text-align:right}
tr.own td{font-weight:700}
.levels{display:flex;flex-wrap:wrap;gap:6px;position:relative}
.levels>input{position:absolute;opacity:0;width:1px;height:1px}
.levels>label{order:1;padding:4px 11px;border:1px solid var(--line);border-radius:14px;
cursor:pointer;font-size:.9rem;font-variant-numeric:tabular-nums}
.levels>input:checked+label{background:var(--ink);color:var(--page);border-color:var(--ink)}
.levels>input:focus-visible+label{outline:2px solid var(--accent);outline-offset:2px}
.levels>.level{order:2;display:none;width:100%}
.levels>input:checked+label+.level{display:block}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@media (max-width:480px){body{padding:16px 14px 32px}h1{font-size:1.5rem}.lead{font-size:1rem}th,td{
padding-right:9px}}
@media print{body{max-width:none;padding:0;font-size:10.5pt;-webkit-print-color-adjust:exact;
print-color-adjust:exact}.levels{display:block}.levels>label{display:none}.levels>.level{
display:block;break-inside:avoid}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}.figures{
grid-template-columns:1fr 1fr}.scroll{overflow:visible}}
`;
