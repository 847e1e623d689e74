/** What is done to machines and links, and how it is undone. */
import { existsSync } from "node:fs";
import type { Direction } from "./machine.ts";
import type { Node } from "./node.ts";
import type { System } from "./system.ts";

export interface Fault {
  readonly name: string;
  /** Why it cannot be done here; undefined where it can. */
  readonly missing?: string;
  readonly begin: (system: System) => Promise<void>;
  /** Undoes it; left out where it has undone itself. */
  readonly end?: (system: System) => Promise<void>;
}

const SLOW_MS = 50;
const SKEW_SECONDS = 5;
/** A library that shifts the clock of a process: libfaketime of Debian. */
const FAKETIME =
  process.env["STRATAGEM_FAKETIME"] ?? "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

type Pick = (system: System) => Node | undefined;

const DIRECTIONS: readonly (readonly [Direction, string])[] = [
  ["both", "is cut off"],
  ["out", "is not heard"],
  ["in", "does not hear"],
];

/** Those that a system of this kind can have, in the order of a table. */
export function faultsOf(system: System): Fault[] {
  const agent: Pick = ({ agents }) => agents[0];
  const frontEnd: Pick = ({ frontEnds }) => frontEnds[0];
  const kinds: (readonly [string, Pick])[] = [];
  if (system.agents.length > 0) kinds.push(["a worker", agent]);
  kinds.push(["a front end", frontEnd]);
  const faults = [nothing(), ...kinds.flatMap(([what, pick]) => ofNode(what, pick))];
  if (system.agents.length > 0) faults.push(innerKill(agent), between(frontEnd, agent));
  if (system.nats !== null) faults.push(...ofNats());
  for (const [what, pick] of kinds) faults.push(skew(what, pick));
  faults.push(rollAll());
  return faults;
}

/** What a table looks like without a fault. */
function nothing(): Fault {
  return { name: "nothing", begin: async () => {} };
}

function ofNode(what: string, pick: Pick): Fault[] {
  return [
    {
      name: `${what} loses power`,
      begin: (system) => picked(pick, system).kill(),
      end: (system) => again(picked(pick, system)),
    },
    {
      name: `${what} is stopped by SIGTERM`,
      begin: (system) => picked(pick, system).stop(),
      end: (system) => again(picked(pick, system)),
    },
    {
      name: `${what} stands still`,
      begin: (system) => picked(pick, system).machine.signal("SIGSTOP"),
      end: (system) => picked(pick, system).machine.signal("SIGCONT"),
    },
    ...DIRECTIONS.map(([direction, how]) => ({
      name: `${what} ${how}`,
      begin: (system: System) => picked(pick, system).machine.cut(direction),
      end: (system: System) => picked(pick, system).machine.heal(direction),
    })),
    {
      name: `the link of ${what} takes ${SLOW_MS} ms each way`,
      begin: (system) => picked(pick, system).machine.slow(SLOW_MS),
      end: (system) => picked(pick, system).machine.hasten(),
    },
  ];
}

/** The process that holds the sessions, beneath the agent, which goes on. */
function innerKill(agent: Pick): Fault {
  return {
    name: "the model process of a worker is killed",
    begin: async (system) => {
      const node = picked(agent, system);
      const inner = (await node.machine.pids()).filter((pid) => pid !== node.pid);
      for (const pid of inner) process.kill(pid, "SIGKILL");
    },
  };
}

function between(frontEnd: Pick, agent: Pick): Fault {
  return {
    name: "the link between a front end and a worker is cut",
    begin: (system) => picked(frontEnd, system).machine.cutFrom(picked(agent, system).machine),
    end: (system) => picked(frontEnd, system).machine.healTo(picked(agent, system).machine),
  };
}

function ofNats(): Fault[] {
  const node: Pick = ({ nats }) => nats?.nodes[0];
  const all =
    (act: (node: Node) => Promise<void>) =>
    async ({ nats }: System) => {
      for (const one of nats?.nodes ?? []) await act(one);
    };
  return [
    ...ofNode("a NATS", node),
    {
      name: "all of NATS loses power",
      begin: all((one) => one.kill()),
      end: async (system) => {
        for (const one of system.nats?.nodes ?? []) one.start();
        await all((one) => one.ready())(system);
      },
    },
    {
      name: "all of NATS is cut off",
      begin: all((one) => one.machine.cut("both")),
      end: all((one) => one.machine.heal("both")),
    },
    {
      name: "a front end and NATS are cut from each other",
      begin: (system) => all((one) => one.machine.cutFrom(first(system)))(system),
      end: (system) => all((one) => one.machine.healTo(first(system)))(system),
    },
    {
      name: "the disks of NATS are full",
      begin: async ({ nats }) => nats?.fillDisks(),
      end: async ({ nats }) => nats?.emptyDisks(),
    },
  ];
}

function first(system: System): Node["machine"] {
  return picked(({ frontEnds }) => frontEnds[0], system).machine;
}

/** Its wall clock is wrong from a new start on; the clock that only counts is not. */
function skew(what: string, pick: Pick): Fault {
  return {
    name: `${what} starts with its clock ${SKEW_SECONDS} s ahead`,
    ...(existsSync(FAKETIME) ? {} : { missing: `${FAKETIME} (Debian's libfaketime)` }),
    begin: async (system) => {
      const node = picked(pick, system);
      await node.stop();
      node.start({
        LD_PRELOAD: FAKETIME,
        FAKETIME: `+${SKEW_SECONDS}s`,
        DONT_FAKE_MONOTONIC: "1",
      });
      await node.ready();
    },
    end: async (system) => {
      const node = picked(pick, system);
      await node.stop();
      await again(node);
    },
  };
}

/** As an update of all machines does it: one after the other, each once the last is ready. */
function rollAll(): Fault {
  return {
    name: "all machines are rolled one by one",
    begin: async (system) => {
      for (const node of system.nodes) {
        await node.stop();
        await again(node);
      }
    },
  };
}

async function again(node: Node): Promise<void> {
  node.start();
  await node.ready();
}

function picked(pick: Pick, system: System): Node {
  const node = pick(system);
  if (node === undefined) throw new RangeError("expected a machine of this kind, found none");
  return node;
}
