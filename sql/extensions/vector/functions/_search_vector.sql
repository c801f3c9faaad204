create or replace function loom._search_vector(
  p_caller loom.caller, p_filter loom.search_filter, p_model text, p_vector jsonb, p_limit integer
) returns setof loom.search_hit
language plpgsql stable security definer rows 50
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_nearest refcursor := loom._search_near(p_caller, p_filter, p_model, p_vector, p_limit);
  v_near record;
  v_row record;
  v_oldest uuid;
  v_seen uuid[] := '{}';
begin
  -- One by one, as far as is asked for: most of what is near is never looked at.
  while cardinality(v_seen) < p_limit loop
    fetch v_nearest into v_near;
    exit when not found;
    -- A vector of a text that is another by now says nothing.
    select agent, user_id, session_id, memory_type into v_row from loom.memory
    where org = v_org and memory_id = v_near.memory_id and content_sha256 = v_near.content_sha256
      and loom._search_shows(p_caller, p_filter, namespace, agent, user_id, session_id, memory_key, memory_type,
        source_class, tags, deleted_at, redacted_at, expires_at);
    continue when not found;
    -- Of rows that say the same, the oldest.
    select memory_id into v_oldest from loom.memory
    where org = v_org and namespace = p_caller.namespace and agent = v_row.agent and user_id = v_row.user_id
      and session_id = v_row.session_id and memory_type = v_row.memory_type and content_sha256 = v_near.content_sha256
      and loom._search_shows(p_caller, p_filter, namespace, agent, user_id, session_id, memory_key, memory_type,
        source_class, tags, deleted_at, redacted_at, expires_at)
    order by created_at, memory_id
    limit 1;
    continue when v_oldest = any (v_seen);
    v_seen := v_seen || v_oldest;
    return next row(v_oldest, cardinality(v_seen), 1 - v_near.distance)::loom.search_hit;
  end loop;
  close v_nearest;
end
$$;
comment on function loom._search_vector(loom.caller, loom.search_filter, text, jsonb, integer) is
  'The leg of vectors: rows in reach whose vector is near the query''s by cosine, nearest first.';
alter function loom._search_vector(loom.caller, loom.search_filter, text, jsonb, integer) owner to loom_search;
