package votes

// ownerNotice ends what is said of single votes: where one is, and what it is not.
const ownerNotice = "; this message tells of private votes and is for their owner alone"
