import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Suite, TestContext } from '../support/suite.js'
import { environmentOf } from './_caduceus.js'

/** A terminal of tmux that runs a program, and a test that types in it. */
export interface Terminal {
  /** Names of keys, or texts. */
  readonly type: (...keys: string[]) => void
  readonly screen: () => string
  /** Waits until its screen is as wanted. */
  readonly until: (fits: (screen: string) => boolean) => Promise<void>
  readonly shows: (text: string) => Promise<void>
}

/** The suite, where tmux is installed; else what says that it is not. */
export function withTerminal(test: Suite): Suite {
  if (spawnSync('tmux', ['-V']).status === 0) return test
  return Object.assign((promise: string) => test.skip(promise, 'tmux is not installed'), test)
}

/** Opens one of 100 columns and 40 rows in the folder `home`. */
export function openTerminal(t: TestContext, home: string, line: string): Terminal {
  const socket = join(home, 'tmux')
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-S', socket, ...args], { env: environmentOf(home), encoding: 'utf8' })
  tmux('-f', '/dev/null', 'new-session', '-d', '-x', '100', '-y', '40', '-c', home, line)
  const terminal = tmux('display-message', '-p', '#{pane_tty}').trim()
  t.after(async () => {
    const programs = processes('-t', terminal)
    spawnSync('tmux', ['-S', socket, 'kill-server'])
    // they get a signal, and may still write into their home
    while (programs.length > 0 && processes('-p', programs.join()).length > 0) await sleep(10)
  })
  const screen = (): string => tmux('capture-pane', '-p')
  // a terminal tells nobody of its changes
  const until = async (fits: (text: string) => boolean): Promise<void> => {
    for (;;) {
      const seen = screen()
      if (fits(seen)) return
      if (t.signal.aborted) throw new Error(`not as wanted:\n${seen}`)
      await sleep(50)
    }
  }
  return {
    type: (...keys) => void tmux('send-keys', ...keys),
    screen,
    until,
    shows: (text) => until((seen) => seen.includes(text)),
  }
}

/** Those that run, as ps selects them; the dead that nobody has waited for do not. */
function processes(...selection: string[]): string[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=,stat=', ...selection], { encoding: 'utf8' })
  const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/))
  return lines.flatMap(([pid, state]) => (pid && !state?.startsWith('Z') ? [pid] : []))
}

/** A command line for the shell of a terminal; its exit code is told when it ends, and the terminal stays. */
export function commandLine(...words: string[]): string {
  return `${words.map((word) => `'${word}'`).join(' ')}; echo exit $?; cat`
}
