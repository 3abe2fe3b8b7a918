import { type ExitReason, isNormal, type Restart, type Strategy } from 'caduceus/runtime'

/** What a supervisor is expected to look like; a small reference written apart from the implementation. */
export interface ModelChild {
  readonly id: string
  readonly restart: Restart
  status: 'running' | 'stopped'
  /** How many times it has been started in all. */
  starts: number
}

/** How many of the next starts of a child fail. */
export type FailingStarts = Map<string, number>

export class SupervisorModel {
  alive = true
  now = 0
  children: ModelChild[]
  readonly failing: FailingStarts = new Map()
  /** Orderly stops and starts, in order. */
  log: string[] = []
  readonly #strategy: Strategy
  readonly #intensity: number
  readonly #periodMs: number
  #restarts: number[] = []

  constructor(
    strategy: Strategy,
    intensity: number,
    periodMs: number,
    specs: readonly { id: string; restart: Restart }[],
  ) {
    this.#strategy = strategy
    this.#intensity = intensity
    this.#periodMs = periodMs
    this.children = specs.map(({ id, restart }) => ({ id, restart, status: 'running', starts: 1 }))
  }

  find(id: string): ModelChild | undefined {
    return this.children.find((child) => child.id === id)
  }

  ended(id: string, reason: ExitReason): void {
    const child = this.find(id)
    if (child === undefined) return
    child.status = 'stopped'
    if (child.restart === 'temporary') this.#forget(child)
    else if (child.restart === 'permanent' || !isNormal(reason)) this.#restart(child)
  }

  terminate(id: string): void {
    const child = this.find(id)
    if (child === undefined) return
    this.#stop(child)
    if (child.restart === 'temporary') this.#forget(child)
  }

  restartByHand(id: string): boolean {
    const child = this.find(id)
    return child !== undefined && child.status === 'stopped' && this.#start(child)
  }

  forget(id: string): void {
    const child = this.find(id)
    if (child?.status === 'stopped') this.#forget(child)
  }

  #restart(failed: ModelChild): void {
    this.#restarts = [...this.#restarts.filter((at) => this.now - at <= this.#periodMs), this.now]
    if (this.#restarts.length > this.#intensity) {
      this.alive = false
      for (const child of [...this.children].reverse()) this.#stop(child)
      return
    }
    const at = this.children.indexOf(failed)
    const concerned = {
      one_for_one: [failed],
      one_for_all: this.children,
      rest_for_one: this.children.slice(at),
    }[this.#strategy]
    for (const child of [...concerned].reverse()) this.#stop(child)
    const again = concerned.filter((child) => child === failed || child.restart !== 'temporary')
    for (const child of concerned) if (!again.includes(child)) this.#forget(child)
    for (const child of again) {
      if (this.#start(child)) continue
      return this.#restart(child)
    }
  }

  #start(child: ModelChild): boolean {
    const failures = this.failing.get(child.id) ?? 0
    if (failures > 0) {
      this.failing.set(child.id, failures - 1)
      return false
    }
    child.starts += 1
    child.status = 'running'
    this.log.push(`start ${child.id}`)
    return true
  }

  #stop(child: ModelChild): void {
    if (child.status === 'running') this.log.push(`stop ${child.id}`)
    child.status = 'stopped'
  }

  #forget(child: ModelChild): void {
    this.children = this.children.filter((other) => other !== child)
  }
}
