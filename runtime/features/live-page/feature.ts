/** The live page: its setting and its routes. */
import { truth } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { serverFeature } from "../server-feature.ts";

export const livePage = serverFeature({
  name: "live page",
  title: "Live page",
  settings: {
    page: setting(truth, true, "serve a live page about the policy to browsers at /"),
  },
  limits: {},
  open: async ({ page }) => {
    if (!page) return null;
    const { pageRoutes } = await import("./page.ts");
    return { routes: pageRoutes() };
  },
});
