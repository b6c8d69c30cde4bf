/** What `explain` says of one kind, in this order. */
export type ExplanationRow = readonly [
  title: string,
  meaning: string,
  cause: string,
  lookAt: string,
  doNext: string,
];
