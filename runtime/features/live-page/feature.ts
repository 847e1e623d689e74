/** The live page: what it is switched on by, and its routes. */
import { truth } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { serverFeature } from "../server-feature.ts";

export const livePage = serverFeature({
  name: "live page",
  title: "A page for people",
  settings: {
    page: setting(truth, true, "show browsers that ask for / a live page of what the policy does"),
  },
  limits: {},
  open: async ({ page }) => {
    if (!page) return null;
    const { pageRoutes } = await import("./page.ts");
    return { routes: pageRoutes() };
  },
});
