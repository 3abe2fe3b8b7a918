import type { ChildSpec } from './child-spec.js'
import { badOption, checkFields, checkFunction, checkName } from '../base/check.js'
import type { ActorRef, ProcessRef } from '../process/ref.js'
import { Registry } from '../process/registry.js'
import { supervisorSpec } from './supervise.js'

/** How many partitions there are, and what each of them is. */
export interface PartitionSupervisorOptions {
  /** The name of the supervisor; partition `i` is registered as `<name>/<i>`. */
  name: string
  /** How many children run. Default 4. */
  partitions?: number
  /** The spec of one partition, from its number and the name to register. Its id becomes the number. */
  child(partition: number, name: string): ChildSpec
  /** As for a supervisor. */
  intensity?: number
  /** As for a supervisor. */
  periodMs?: number
}

/** The spec of a supervisor of equal children (Elixir: PartitionSupervisor). Throws BAD_OPTION. */
export function partitionSupervisorSpec(options: PartitionSupervisorOptions): ChildSpec {
  checkFields(options, ['name', 'partitions', 'child', 'intensity', 'periodMs'])
  const { name, partitions = 4, child, intensity, periodMs } = options
  checkPartitions(partitions)
  checkName(name)
  checkFunction(child, 'child')
  return supervisorSpec({
    name,
    strategy: 'one_for_one',
    ...(intensity === undefined ? {} : { intensity }),
    ...(periodMs === undefined ? {} : { periodMs }),
    children: Array.from({ length: partitions }, (_, i) => ({
      ...child(i, partitionName(name, i)),
      id: String(i),
    })),
  })
}

/** The partition of a key: an integer modulo `partitions`, or a hash of its text. Throws BAD_OPTION. */
export function partitionOf(key: string | number | bigint, partitions: number): number {
  checkPartitions(partitions)
  if (typeof key === 'number' && Number.isInteger(key)) return Math.abs(key) % partitions
  if (!['string', 'number', 'bigint'].includes(typeof key))
    throw badOption('key', 'a string or a number', key)
  return hash(String(key)) % partitions
}

/** The actor that serves a key; undefined while its partition restarts. Throws BAD_OPTION. */
export function partitionFor(
  registry: Registry,
  name: string,
  key: string | number | bigint,
  partitions: number,
): ActorRef | undefined {
  checkPlace(registry, name)
  return registry.whereis(partitionName(name, partitionOf(key, partitions)))
}

/** The name that a partition is registered with. */
export function partitionName(name: string, partition: number): string {
  return `${name}/${partition}`
}

/** The partitions that run now, by number. Throws BAD_OPTION. */
export function partitionsOf(registry: Registry, name: string, partitions: number): Map<number, ProcessRef> {
  checkPlace(registry, name)
  checkPartitions(partitions)
  const found = new Map<number, ProcessRef>()
  for (let i = 0; i < partitions; i++) {
    const ref = registry.whereis(partitionName(name, i))
    if (ref !== undefined) found.set(i, ref)
  }
  return found
}

/** FNV-1a over UTF-16 code units: the same in every process. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}

function checkPartitions(partitions: unknown): void {
  if (Number.isInteger(partitions) && Number(partitions) > 0) return
  throw badOption('partitions', 'an integer above 0', partitions)
}

function checkPlace(registry: unknown, name: unknown): void {
  if (!(registry instanceof Registry)) throw badOption('registry', 'a Registry', registry)
  checkName(name)
}
