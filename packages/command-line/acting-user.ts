/** Who asks or gives a command: a person in a shell or a conversation, or over HTTP one with a token. */
export interface ActingUser {
  readonly userId: string;
  /** Over HTTP: whether the token may do what administrators do. Absent: the settings say whether the person may. */
  readonly asAdmin?: boolean | undefined;
}

/** Who gives a command with this input and output, as plain data. */
export function actingUser({ userId, asAdmin }: ActingUser): ActingUser {
  return asAdmin === undefined ? { userId } : { userId, asAdmin };
}
