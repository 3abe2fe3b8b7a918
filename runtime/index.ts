export { startActor } from './root.js'
export {
  defineActor,
  type ActorDefinition,
  type Behaviour,
  type Deferred,
  type Down,
  type Exit,
  type Handler,
  type Handlers,
  ignore,
  type Ignore,
  type InfoHandlers,
  refuse,
  type Refusal,
} from './behaviour.js'
export type { ActorContext, ProcessContext } from './context.js'
export type { ActorRef, CallOptions, ProcessRef, RefOf } from './ref.js'
export type { NamedRef, NameState } from './named-ref.js'
export { Registry } from './registry.js'
export type { StartOptions } from './start.js'
export type { RootOptions } from './root.js'
export type { TreeOptions } from './tree.js'
export type { Monitor } from './monitor.js'
export type { TimerRef } from './timers.js'
export type { Owned } from './owned.js'
export {
  type ChildSpec,
  childSpec,
  type ChildOverrides,
  type Shutdown,
  type StartAnswer,
} from './child-spec.js'
export type { ChildStarted } from './child.js'
export { startSupervisor, Supervisor, supervisorAt, supervisorSpec } from './supervise.js'
export type { ChildCount, ChildInfo, SupervisorHandle } from './supervisor-handle.js'
export {
  DynamicSupervisor,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  startDynamicSupervisor,
} from './dynamic-supervisor.js'
export type {
  DynamicSupervisorOptions,
  SupervisorOptions,
  TaskSupervisorOptions,
} from './supervisor-options.js'
export type { TaskContext } from './task.js'
export {
  startTaskSupervisor,
  TaskSupervisor,
  taskSupervisorAt,
  taskSupervisorSpec,
  type TaskOptions,
  type TaskRef,
} from './task-supervisor.js'
export type { Restart, Strategy } from './strategy.js'
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
} from './exit.js'
export { type Clock, systemClock } from './clock.js'
export { createFakeClock, type FakeClock } from './fake-clock.js'
export { CaduceusError, type ErrorDetails, RuntimeError, type RuntimeErrorCode } from './errors.js'
export {
  type CrashEvent,
  type NoticeEvent,
  type ProcessFacts,
  type ProgressEvent,
  type RuntimeEvents,
  type StrayEvent,
  subscribe,
  type SupervisorEvent,
} from './events.js'
export { describe, formatTree, type Inspectable, inspect, type TreeNode } from './inspect.js'
export type { LogCategory, Logger, LogLevel, LogLevels, LogOptions } from './log.js'
export { asyncStream, type AsyncStreamOptions } from './async-stream.js'
export { multiCall, multiCast, type MultiReply } from './multi-call.js'
export {
  partitionFor,
  partitionName,
  partitionOf,
  partitionsOf,
  partitionSupervisorSpec,
  type PartitionSupervisorOptions,
} from './partition-supervisor.js'
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
} from './sys.js'
export { awaitTask, outcomeOf, shutdownTask, type TaskOutcome, yieldTask } from './task-await.js'
export { type RegistryEntry, type RegistryEvent, TopicRegistry } from './topic-registry.js'
export type { AutoShutdown } from './supervisor-options.js'
export type { TimerFired } from './timers.js'
