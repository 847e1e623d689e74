/**
 * Style of the live page, shared with the compiler's reports, for light, dark and narrow screens.
 */

import { VARIANT_COLOURS } from "../../describe/variant-colours.ts";

export function pageStyle(): string {
  const classes = VARIANT_COLOURS.map(
    (_, place) => `.variant-${place}{--variant:var(--variant-${place})}`,
  );
  const light = `--page:#fff;--ink:#1b1f24;--soft:#5a6470;--line:#d5dae0;--panel:#f4f6f8;
--own:#0068a8;--second:#44aa99;--limit:#b3261e;--good:#117733;--empty:#c4cad1;${variants(0)}`;
  const dark = `--page:#14171b;--ink:#e8ebef;--soft:#a3adb8;--line:#3a424b;--panel:#1e2328;
--own:#7fcbf5;--second:#62cdbb;--limit:#ff8a80;--good:#6fd08c;--empty:#4a535d;${variants(1)}`;
  return `:root{${light}}
@media screen and (prefers-color-scheme:dark){:root{${dark}}}
${RULES}${classes.join("")}`;
}

function variants(theme: 0 | 1): string {
  return VARIANT_COLOURS.map((colours, place) => `--variant-${place}:${colours[theme]}`).join(";");
}

const RULES = `*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0 auto;max-width:1240px;padding:24px 20px 48px;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;
overflow-wrap:anywhere}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2rem 0 0;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:.6rem 0 .2rem}
p{margin:.5rem 0}
a{color:var(--own)}
.kicker,figcaption,footer,.note{color:var(--soft);font-size:.875rem}
.kicker{margin:0}
.skip{position:absolute;left:-999px}
.skip:focus{left:20px;background:var(--page)}
.bar{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center}
.status{margin:0;padding:4px 12px;border-radius:14px;background:var(--panel);font-size:.9rem}
.status::before{content:"";display:inline-block;width:9px;height:9px;margin-right:8px;
border-radius:5px;background:var(--soft)}
.status.ready::before{background:var(--good)}
.status.lost,.status.draining,.status.starting{outline:2px solid var(--limit)}
.status.lost::before,.status.draining::before,.status.starting::before{background:var(--limit)}
button,input{font:inherit;font-size:.9rem;padding:4px 12px;border:1px solid var(--soft);
border-radius:14px;background:var(--page);color:var(--ink)}
button{cursor:pointer}
button[aria-pressed=true]{background:var(--ink);color:var(--page)}
:focus-visible{outline:2px solid var(--own);outline-offset:2px}
form,nav{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;margin:.8rem 0 0}
.tiles{display:grid;grid-template-columns:repeat(3,1fr);gap:14px 24px;margin:.8rem 0 1rem;
padding:14px 16px;background:var(--panel);border-radius:8px}
dt{color:var(--soft);font-size:.8rem}
dd{margin:0}
.value{font-size:1.25rem;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums}
.note{font-size:.8rem;line-height:1.35}
.note.kept{color:var(--good)}
.note.broken{color:var(--limit);font-weight:600}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));
gap:12px 36px;align-items:start}
figure{margin:0 0 4px;max-width:560px;min-width:0}
figcaption{font-size:.8rem;margin-top:2px}
svg.figure{display:block;width:100%;height:auto;font-size:11px;overflow:visible}
svg.figure text{fill:var(--soft);font-variant-numeric:tabular-nums}
.grid,.tick{fill:none;stroke:var(--line);stroke-width:1}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round;stroke:var(--own)}
.line.second{stroke:var(--second);stroke-dasharray:1 4;stroke-width:2.2}
.line.promise{stroke:var(--ink);stroke-width:1.4;stroke-dasharray:7 4;stroke-linecap:butt}
.line.limit{stroke:var(--limit);stroke-width:1.3;stroke-dasharray:5 3;stroke-linecap:butt}
.line.level{stroke:var(--soft);stroke-width:.7}
.area{fill:var(--variant)}
.square{fill:var(--variant,var(--own))}
.square.idle{fill:var(--page);stroke:var(--own);stroke-width:1.5}
.square.away{fill:var(--page);stroke:var(--empty);stroke-width:1.5;stroke-dasharray:3 2}
.key{display:flex;flex-wrap:wrap;gap:2px 16px;padding:0;margin:4px 0;list-style:none;
font-size:.85rem;color:var(--soft)}
.key svg{width:26px;height:10px;vertical-align:middle;margin-right:5px}
.tables{display:flex;flex-wrap:wrap;gap:14px 32px;margin-top:1rem;align-items:start}
.tables>*{max-width:100%}
.tables>details{flex-basis:100%}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:4px 0}
th,td{padding:4px 12px 4px 0;text-align:right;border-bottom:1px solid var(--line);
overflow-wrap:normal;white-space:nowrap}
th{color:var(--soft);font-weight:600;font-size:.8rem;vertical-align:bottom}
th:first-child{text-align:left}
tbody th{color:var(--ink);font-weight:400;font-size:.875rem}
summary{cursor:pointer;width:max-content}
footer{margin-top:2.5rem;border-top:1px solid var(--line)}
@media (min-width:1080px){.tiles{grid-template-columns:repeat(6,1fr)}}
@media (max-width:480px){body{padding:16px 14px 32px}h1{font-size:1.5rem}
.tiles{grid-template-columns:1fr 1fr;gap:12px 16px;padding:12px}.value{font-size:1.05rem}}
@media print{.bar,nav,.skip{display:none}}
`;
