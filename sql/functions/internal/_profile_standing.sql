create or replace function loom._profile_standing(p_org text, p_namespace text, p_user_id text) returns loom.profile_standing
language plpgsql volatile
as $$
declare
  v_standing loom.profile_standing;
begin
  -- One statement, so that all of it is of one moment.
  select schema, state, build, stored into v_standing
  from (values (1)) as one
  left join loom.profile_schema as schema on schema.org = p_org and schema.namespace = p_namespace
  left join loom.user_state as state
    on state.org = p_org and state.namespace = p_namespace and state.user_id = p_user_id
  left join loom.build as build
    on build.org = p_org and build.namespace = p_namespace and build.user_id = p_user_id
      and build.kind = 'structured_profile'
  left join loom.memory as stored
    on stored.org = p_org and stored.namespace = p_namespace and stored.memory_key = 'structured_profile'
      and stored.user_id = p_user_id and stored.session_id = '-' and stored.agent = '-';
  return v_standing;
end
$$;
comment on function loom._profile_standing(text, text, text) is
  'All that is known of a user''s structured profile: schema, state row, build and row; four look-ups by key.';
