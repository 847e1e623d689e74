/** List of the server's features; each is a folder. */
import { canary } from "./canary/feature.ts";
import { decisionLog } from "./decision-log/feature.ts";
import { drift } from "./drift/feature.ts";
import { feedback } from "./feedback/feature.ts";
import { livePage } from "./live-page/feature.ts";
import { telemetry } from "./telemetry/feature.ts";

export const FEATURES = [livePage, drift, feedback, canary, telemetry, decisionLog] as const;
