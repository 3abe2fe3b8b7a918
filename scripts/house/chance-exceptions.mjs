// Where time, turns or chance are not those of a World, each with its reason.

/** `at` is a file, or a folder with `/` at its end; `sources` are what it may use there. */
export const exceptions = [
  // files of this machine, whose times other processes set and read, too
  { at: 'client/auth/file-storage.ts', sources: ['systemWorld'] },
  // it belongs to no tree, and its times are those of Redis
  { at: 'client/auth/redis-storage.ts', sources: ['systemWorld'] },
  // all copies of the library share it: which servers a signal stops
  { at: 'server/base/signals.ts', sources: ['globalThis'] },
  // people look at what this process of Node does by the clock of the machine
  { at: 'transports/view/observer.ts', sources: ['performance', 'process.uptime'] },
  // how busy the loop of this process of Node is
  { at: 'transports/http/listen/metrics.ts', sources: ['performance'] },
  { at: 'runtime/watch/reporter.ts', sources: ['performance'] },
  // a program that has failed ends, whatever still holds it
  { at: 'command/main.ts', sources: ['setTimeout'] },
  // and so does one that was told to
  { at: 'command/terminal/stopping.ts', sources: ['setTimeout'] },
  // it runs in a browser
  { at: 'transports/view/page/', sources: 'all' },
  // the world of this machine itself
  {
    at: 'runtime/time/clock.ts',
    sources: ['performance.now', 'setTimeout', 'clearTimeout'],
  },
  {
    at: 'runtime/time/world.ts',
    sources: [
      ...[
        'Date.now',
        'setImmediate',
        'clearImmediate',
        'queueMicrotask',
        'Math.random',
        'randomBytes',
        'nanoid',
      ],
      ...['systemClock', 'systemWorld'],
    ],
  },
  // a test waits in real turns until what it moved has come to rest
  { at: 'runtime/time/fake-clock.ts', sources: ['setImmediate'] },
  // all trees of a process share it: errors that belong to nobody, which Node tells the process
  { at: 'runtime/faults/containment.ts', sources: ['setImmediate', 'systemClock', 'globalThis'] },
  // the process ends, and its trees have their time by the clock of the machine
  { at: 'runtime/faults/program-end.ts', sources: ['setImmediate', 'systemClock'] },
  // all trees of a process share it: who reads its standard error does so by the clock of the machine
  { at: 'runtime/faults/standard-error.ts', sources: ['setTimeout', 'clearTimeout', 'performance.now'] },
  // all trees of a process share it: how long the loop of Node does not turn
  {
    at: 'runtime/watchdog/watchdog.ts',
    sources: ['setTimeout', 'clearTimeout', 'process.hrtime', 'globalThis'],
  },
  // the end of the program comes, whoever else waits; lines are written together after all microtasks of a turn
  { at: 'transports/stdio/pipes.ts', sources: ['setTimeout', 'process.nextTick'] },
  // threads and processes of their own, which watch from outside
  {
    at: 'runtime/watchdog/thread.ts',
    sources: ['process.hrtime', 'performance.now', 'setInterval', 'clearInterval', 'setTimeout'],
  },
  { at: 'runtime/peers/guard.ts', sources: ['setInterval'] },
]
