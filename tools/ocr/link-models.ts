/** Usage: node dist/tools/ocr/link-models.js */
import { linkModels } from "./models.ts";

linkModels();
