export { startActor } from './process/root.js'
export {
  defineActor,
  type ActorDefinition,
  type Behaviour,
  type Down,
  type Exit,
  type Handler,
  type Handlers,
  type InfoHandlers,
} from './process/behaviour.js'
export { type Deferred, type Ignore, ignore, type Refusal, refuse } from './process/program.js'
export type { ActorContext, ProcessContext } from './process/context.js'
export type { ActorRef, CallOptions, RefOf } from './process/ref.js'
export { type NamedRef, type NameState, Registry } from './process/registry.js'
export type { StartOptions } from './process/start.js'
export type { RootOptions, TreeOptions } from './process/root.js'
export type { Monitor, ProcessRef } from './process/process.js'
export type { TimerFired, TimerRef } from './process/timers.js'
export type { Owned } from './process/owned.js'
export {
  type ChildSpec,
  childSpec,
  type ChildOverrides,
  type Shutdown,
  type StartAnswer,
} from './supervision/child-spec.js'
export type { ChildStarted } from './supervision/child.js'
export { startSupervisor, Supervisor, supervisorAt, supervisorSpec } from './supervision/supervise.js'
export type { ChildCount, ChildInfo, SupervisorHandle } from './supervision/skeleton.js'
export {
  DynamicSupervisor,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  startDynamicSupervisor,
} from './supervision/dynamic.js'
export type {
  DynamicSupervisorOptions,
  SupervisorOptions,
  TaskSupervisorOptions,
} from './supervision/options.js'
export type { TaskContext } from './tasks/task.js'
export {
  startTaskSupervisor,
  TaskSupervisor,
  taskSupervisorAt,
  taskSupervisorSpec,
  type TaskOptions,
  type TaskRef,
} from './tasks/supervisor.js'
export type { Restart, Strategy } from './supervision/strategy.js'
export {
  crash,
  type ExitReason,
  type ExitRequest,
  formatReason,
  isNormal,
  kill,
  killed,
  noproc,
  normal,
  shutdown,
  shutdownWith,
} from './base/exit.js'
export { type Clock, systemClock } from './time/clock.js'
export { type Order, systemWorld, type World } from './time/world.js'
export { createFakeClock, type FakeClock } from './time/fake-clock.js'
export { CaduceusError, type ErrorDetails, RuntimeError, type RuntimeErrorCode } from './base/errors.js'
export {
  type BlockedEvent,
  type CrashEvent,
  type NoticeEvent,
  type ProcessFacts,
  type ProgressEvent,
  type RuntimeEvents,
  type StrayEvent,
  subscribe,
  type SupervisorEvent,
} from './faults/events.js'
export { describe, formatTree, type Inspectable, inspect, type TreeNode } from './watch/inspect.js'
export type { MachineInspector } from './watch/inspector.js'
export type { LogCategory, Logger, LogLevel, LogLevels, LogOptions } from './faults/log.js'
export { asyncStream, type AsyncStreamOptions } from './tasks/stream.js'
export { multiCall, multiCast, type MultiReply } from './groups/multi-call.js'
export {
  partitionFor,
  partitionName,
  partitionOf,
  partitionsOf,
  partitionSupervisorSpec,
  type PartitionSupervisorOptions,
} from './supervision/partition.js'
export {
  type ActorStatus,
  getState,
  getStatus,
  replaceState,
  resume,
  type Statistics,
  statistics,
  suspend,
  trace,
  type TraceEvent,
} from './watch/sys.js'
export { awaitTask, outcomeOf, shutdownTask, type TaskOutcome, yieldTask } from './tasks/await.js'
export { type RegistryEntry, type RegistryEvent, TopicRegistry } from './groups/topic-registry.js'
export { definePeer, peerSpec } from './peers/peer.js'
export type { PeerOptions } from './peers/options.js'
export type { AutoShutdown } from './supervision/options.js'
