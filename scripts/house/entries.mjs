// The one list of what is built.
import { floorsWithDoors } from './sources.mjs'

/** One door per export of package.json: the file that is bundled, relative to the repository. */
export const doors = [
  'index.ts',
  ...floorsWithDoors.map((floor) => `${floor}/index.ts`),
  'testing.ts',
  'otel.ts',
  'openapi.ts',
  'fetch.ts',
]

/** Doors that stand alone: whoever needs one of these floors, or `fetch` alone, loads nothing of another. */
export const floorsAlone = ['runtime/index.ts', 'protocol/index.ts', 'fetch.ts']

/** Doors of which most programs use one or two: what one of them needs alone is in no chunk of another. */
export const doorsApart = ['transports/index.ts', 'server/index.ts', 'client/index.ts']

/** Bundled as an entry so that its chunks have nothing else: a program that needs fields alone gets them alone. */
export const fields = 'protocol/schema/fields/fields.ts'

/** Doors that stand on top of everything: they load all that the door of everyday names does. */
export const doorsOnTop = ['testing.ts', 'otel.ts', 'openapi.ts']

/**
 * Files that run as a worker thread or a process of their own; bundled as entries so that their paths exist
 * in `dist/`.
 */
export const workers = [
  'runtime/peers/boot.ts',
  'runtime/peers/guard.ts',
  'runtime/watchdog/thread.ts',
  'server/node.ts',
  'server/isolation/worker.ts',
  'server/openapi/yaml-thread.ts',
]

/** The program that `bin` of package.json names: bundled alone, as it imports the doors like any program. */
export const program = 'command/main.ts'
