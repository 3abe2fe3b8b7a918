/** Which list of a server a change is about; templates count as resources. */
export type ListKind = 'tools' | 'resources' | 'prompts'

/** Changes that all listening clients are notified of. */
export interface Changes {
  /** Rejects with BAD_OPTION for what is no uri. */
  resourceUpdated(uri: string): Promise<void>
  /** Rejects with BAD_OPTION for what is no list, or one that the server does not declare. */
  listChanged(list: ListKind): Promise<void>
}
