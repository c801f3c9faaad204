create or replace function loom._weaving_thread(p_part loom.loom_weaving_part, p_operation jsonb) returns loom.loom_thread
language plpgsql volatile
as $$
declare
  v_org text := p_part.org;
  v_number jsonb := p_operation -> 'thread';
  v_place integer;
  v_thread_id uuid;
  v_version bigint;
  v_thread loom.loom_thread;
begin
  if jsonb_typeof(v_number) = 'number' then
    select place, p_part.thread_ids[place], p_part.versions[place] into v_place, v_thread_id, v_version
    from generate_subscripts(p_part.thread_ids, 1) as place where place = v_number::numeric;
  end if;
  select * into v_thread from loom.loom_thread
  where org = v_org and thread_id = v_thread_id and version = v_version and deleted_at is null
    and user_id = p_part.user_id and agent = p_part.agent
    -- A dry run leaves the version as it was, and is to show what would be done.
    and not exists (
      select from loom.loom_weaving_change
      where org = v_org and weaving_id = p_part.weaving_id and thread_id = v_thread_id)
  for update;
  return v_thread;
end
$$;
comment on function loom._weaving_thread(loom.loom_weaving_part, jsonb) is
  'The thread that an operation of the model names by its number, if it is one of those the model was given and still as it was read; null else: what was invented, or woven or changed meanwhile or by this weaving before, is left alone.';
