create or replace function loom._embedding_held(p_org text, p_model text, p_lease uuid, p_ids uuid[]) returns uuid[]
language plpgsql volatile
as $$
begin
  -- As every writer under a user, so that an erasure that has begun finds nothing coming back.
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(p_org, who.user_id))
  from (
    select distinct user_id from loom.embedding_due
    where org = p_org and model = p_model and lease_id = p_lease and memory_id = any (p_ids)
    order by user_id
  ) as who;
  -- Never waiting for those who write the rows just now: their texts change.
  return array(
    select memory_id from loom.embedding_due
    where org = p_org and model = p_model and lease_id = p_lease and memory_id = any (p_ids)
    order by memory_id
    for update skip locked);
end
$$;
comment on function loom._embedding_held(text, text, uuid, uuid[]) is
  'Which of the texts a lease still holds, behind the locks of a writer of their users.';
