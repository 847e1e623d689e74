/** HTML frame of the live page, which the script fills. It contains no values. */

interface PageParts {
  readonly style: string;
  readonly script: string;
}

export function pageHtml({ style, script }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Stratagem</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#applications">Skip to the applications</a>
<header>
<p class="kicker">Stratagem · live</p>
<h1>Policy status</h1>
<div class="bar"><p id="status" class="status" role="status">Waiting for the first numbers.</p>
<button id="pause" type="button" aria-pressed="false">Pause</button></div>
<form id="token" hidden><label for="token-field">Token</label>
<input id="token-field" type="password" autocomplete="off" required>
<button>Sign in</button></form>
<nav id="jump" aria-label="Applications" hidden></nav>
<noscript><p>This page needs JavaScript. <a href="metrics">GET /metrics</a> has the numbers.</p>
</noscript>
</header>
<main id="applications" tabindex="-1"></main>
<footer><p><span id="version">Stratagem</span> · numbers from
<a href="metrics">/metrics</a>, promises from the bundle</p></footer>
<script type="module">${script}</script>
</body>
</html>
`;
}
