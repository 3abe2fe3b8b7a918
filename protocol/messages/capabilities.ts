/** A capability without settings: present means on. */
export type Flag = Record<string, unknown>

/** Ids of extensions are keys of `_meta` with a prefix (specification: basic, `_meta`). */
const extensionId = /^[a-z][a-z\d-]*(?:\.[a-z][a-z\d-]*)*\/[a-z\d][\w.-]*$/i

/** Whether an extension may have this identifier, such as `com.example/search`. */
export function isExtensionId(id: string): boolean {
  return extensionId.test(id)
}

/** What a client offers to its server; keys we do not know are kept. */
export interface ClientCapabilities {
  experimental?: Record<string, Flag>
  roots?: { listChanged?: boolean }
  sampling?: { context?: Flag; tools?: Flag }
  /** An empty object means form only. */
  elicitation?: { form?: Flag; url?: Flag }
  tasks?: {
    list?: Flag
    cancel?: Flag
    requests?: { sampling?: { createMessage?: Flag }; elicitation?: { create?: Flag } }
  }
  /** Settings by the identifier of the extension (2026-07-28). */
  extensions?: Record<string, Flag>
}

/** What a server offers to its clients; keys we do not know are kept. */
export interface ServerCapabilities {
  experimental?: Record<string, Flag>
  logging?: Flag
  completions?: Flag
  prompts?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  tools?: { listChanged?: boolean }
  tasks?: { list?: Flag; cancel?: Flag; requests?: { tools?: { call?: Flag } } }
  /** Settings by the identifier of the extension (2026-07-28). */
  extensions?: Record<string, Flag>
}
