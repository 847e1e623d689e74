/** The process that measures points of the comparison with peers, one after the other. */
import { answerTasks } from "../harness/processes.ts";
import { measurePoint } from "./peer-point.ts";

answerTasks(measurePoint);
