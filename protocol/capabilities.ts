import { isObject } from './json.js'
import { isMethod, type Method, methods, type NotificationMethod, notifications } from './methods.js'
import type { ClientCapabilities, ServerCapabilities } from './types/capabilities.js'

/**
 * The capability that stands in the way of a message, or undefined when it may pass. For a request they are the
 * receiver's capabilities, for a notification the sender's.
 */
export function missingCapability(
  name: Method | NotificationMethod,
  capabilities: ClientCapabilities | ServerCapabilities,
): string | undefined {
  const { capability } = isMethod(name) ? methods[name] : notifications[name]
  return capability === undefined || hasCapability(capabilities, capability) ? undefined : capability
}

/** Whether `path`, such as `tools.listChanged`, is declared: an object is on by being there, a boolean by being true. */
export function hasCapability(capabilities: ClientCapabilities | ServerCapabilities, path: string): boolean {
  let value: unknown = capabilities
  for (const key of path.split('.')) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value === true || isObject(value)
}
