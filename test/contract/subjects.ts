/** A subject for every method: the suite runs over all of them. */
import { accordion } from "./subjects/accordion.ts";
import { inferline } from "./subjects/inferline.ts";
import { loki } from "./subjects/loki.ts";
import { ramsis } from "./subjects/ramsis.ts";
import type { Subject } from "./subjects/subject.ts";
import { themis } from "./subjects/themis.ts";

export const SUBJECTS: readonly Subject[] = [ramsis, loki, inferline, themis, accordion];

/** As `describe.each` and `test.each` take them. */
export const BY_METHOD = SUBJECTS.map((subject) => [subject.method, subject] as const);
