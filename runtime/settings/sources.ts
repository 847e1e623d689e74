/** Where bundles come from that are not files of this machine. */
import { text } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const SOURCES = {
  store: setting(
    text("<folder>", "a folder"),
    null,
    "where bundles and models of sources are kept, for a start while the sources are away",
    "`$STATE_DIRECTORY`, `$XDG_STATE_HOME/stratagem` or `~/.local/state/stratagem`",
  ),
  statusUrl: setting(
    text("<url>", "an http(s) URL"),
    null,
    "where it is POSTed, whenever that changes, which bundles are followed and which refused",
    "nowhere",
  ),
};
