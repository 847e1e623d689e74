/** Usage: node dist/lab/models/ocr/link-models.js */
import { linkModels } from "./models.ts";

linkModels();
